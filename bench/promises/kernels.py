"""The claims `kernels`: kernels of every family beside the best that there is.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence

from bench.harness.places import PROGRAMS, RIVALS
from bench.harness.record import Result, geometric_mean, ratios
from bench.harness.thresholds import keep
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.promises.recognition import over_best, race_suite
from bench.races import dense_algebra
from bench.races.convolutions import FIRST, KINDS, LAYERS, Convolved, convolve_all
from bench.races.dsp import DSP
from bench.races.polybench import POLYBENCH
from bench.races.streams import Streamed, stream_all
from bench.races.transforms import Transformed, transform_all
from bench.races.two_cores import CONVOLUTION, KERNELS, Pair, pair_all
from bench.rivals.blas_baselines import Anchor, find_fftw, find_onednn
from bench.rivals.iree_baseline import ORDERS, Shape, time_iree
from bench.sweeps.version_sweep import TARGETS, family_jobs, find_targets, quick_jobs, run_jobs, tell_how
from bench.sweeps.version_sweep import stored as stored_of

DENSE, WITH_BLAS = PROGRAMS / "dense", RIVALS / "dense_blas.c"
ONE_CALL = ("symm", "syrk", "syr2k", "trmm", "cholesky", "lu")
"""The files of PolyBench that are one call of a BLAS or LAPACK."""
SAMPLE, SAMPLE_SHARE = ("trsm",), 4
"""The quick run takes one program at a quarter of its sizes."""
STENCILS = ("heat-3d", "jacobi-1d", "jacobi-2d", "fdtd-2d", "seidel-2d", "adi")
PROGRAMMING = ("floyd-warshall", "nussinov")


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All claims; `quick` takes a sample and says so in notes."""
    if stored:
        yield Note("PolyBench and the DSP files are stored only: all else is measured without --stored")
    else:
        yield from examine_dense(quick)
        yield from examine_streams(quick)
        yield from examine_convolutions(quick)
        yield from examine_transforms(quick)
        yield from examine_cores(quick)
    yield from examine_everywhere(quick, stored)
    yield from examine_polybench(quick, stored)
    yield from examine_dsp(quick, stored)


def examine_everywhere(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All versions beside the original on all targets, in all modes: what is wrong of them."""
    able, skipped = find_targets(TARGETS)
    yield from map(Note, skipped)
    jobs = quick_jobs(able) if quick else family_jobs(able)
    found = stored_of(jobs) if stored else run_jobs(jobs)
    if not found:
        yield Note("skipped all versions on all targets: none were run")
        return
    failed = [x for x in found if x.failed]
    yield from (Note(tell_how(x)) for x in failed)
    yield Note(f"{len(found)} versions in {len({x.setting for x in found})} settings: {', '.join(able)}")
    yield at_most("everywhere", len(failed), 0)


def examine_dense(quick: bool) -> Iterator[Claim | Note]:
    """Plain C that is one call of a BLAS or LAPACK, against OpenBLAS."""
    library = dense_algebra.find_library()
    if not isinstance(library, Anchor):
        yield Note(f"skipped dense algebra: {library}")
        return
    share = SAMPLE_SHARE if quick else 1
    wanted = dense_algebra.programs(share, library.path, DENSE, WITH_BLAS)
    if quick:
        wanted = [x for x in wanted if x.name in SAMPLE]
    else:
        wanted += dense_algebra.programs_of(POLYBENCH, ONE_CALL, "LARGE", library.path, WITH_BLAS)
        wanted += [x for x in dense_algebra.programs(share, library.path) if x.name in ("gemm", "atax", "mvt")]
    folder = dense_algebra.folder_of("dense", share)
    for result in dense_algebra.run(wanted, folder, dense_algebra.make_rules(quick)):
        yield Note(f"{result.file}, over {library.name} {library.version}: {dense_algebra.summarise(result, 'blas')}")
        yield at_least(f"library.{result.file}_over_openblas", next(iter(ratios([result], "blas")), 0.0), 0.9)


def examine_streams(quick: bool) -> Iterator[Claim | Note]:
    """What waits for memory, over what moves as many bytes or a library, whichever is faster."""
    library = dense_algebra.find_library()
    if not isinstance(library, Anchor):
        yield Note(f"skipped streams: {library}")
        return
    for found in stream_all(("dot",) if quick else (), dense_algebra.make_rules(quick), library):
        yield _note("streams", found, quick)
        yield at_least(f"library.{found.name}_of_bandwidth", found.ratio, 0.95)


def examine_convolutions(quick: bool) -> Iterator[Claim | Note]:
    """The layers of ResNet-50 over oneDNN for arrays in the same order."""
    library = find_onednn()
    if not isinstance(library, Anchor):
        yield Note(f"skipped convolutions: {library}")
        return
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for layer in convolve_all((FIRST,) if quick else (), dense_algebra.make_rules(quick), library):
        yield _note("convolutions", layer, quick)
        kind = LAYERS[layer.name].kind
        if layer.name == FIRST + kind:
            yield at_least(f"library.conv2d{kind.replace(' ', '_')}_over_onednn", layer.ratio, 1.0)
        if layer.name == FIRST:
            yield from _over_iree(layer.ours)
        found[kind].append(layer.ratio)
    for kind, ratios_of in found.items():
        if ratios_of and not quick:
            name = f"library.resnet{kind.replace(' ', '_')}_over_onednn"
            yield at_least(name, statistics.geometric_mean(ratios_of), 1.0)


def _over_iree(ours: float) -> Iterator[Claim | Note]:
    """The first layer over IREE's, in the order of dimensions that is the faster one for IREE."""
    layer = LAYERS[FIRST]
    shape = Shape(layer.features, layer.channels, layer.side, layer.window, layer.stride)
    try:
        times = {order: time_iree(shape, order) for order in ORDERS}
    except RuntimeError as error:
        yield Note(f"skipped IREE: {str(error).splitlines()[0]}")
        return
    told = ", ".join(f"{x} {shape.flops / y / 1e9:.1f}" for x, y in times.items())
    yield Note(f"{FIRST} by IREE: {told} Gflop/s; ours {shape.flops / ours / 1e9:.1f}")
    yield at_least("library.conv2d_over_iree", round(min(times.values()) / ours, 4), 1.0)


def examine_transforms(quick: bool) -> Iterator[Claim | Note]:
    """Fourier transforms over FFTW's patient plans, and over pocketfft."""
    if missing := find_fftw():
        yield Note(f"skipped transforms: {missing}")
        return
    found = []
    for one in transform_all((256,) if quick else (), dense_algebra.make_rules(quick)):
        yield _note("transforms", one, quick)
        found.append(one)
    yield at_least("library.fft_over_fftw", min(x.over_fftw for x in found), 0.9)
    over = [x.over_pocketfft for x in found if x.over_pocketfft is not None]
    if over:
        yield at_least("library.fft_over_pocketfft", min(over), 1.5)
    else:
        yield Note("skipped pocketfft: SciPy is not installed (python -m bench.rivals.blas_baselines --install)")


def examine_cores(quick: bool) -> Iterator[Claim | Note]:
    """What waits for arithmetic, on two cores over one."""
    if len(os.sched_getaffinity(0)) < 2:
        yield Note("skipped two cores: there are none")
        return
    found = []
    for one in pair_all((CONVOLUTION,) if quick else (*KERNELS, CONVOLUTION), dense_algebra.make_rules(quick)):
        yield _note("cores", one, quick)
        found.append(one.ratio)
    yield at_least("library.two_cores", min(found), 1.8)


def _note(family: str, found: Streamed | Convolved | Transformed | Pair, quick: bool) -> Note:
    """What one race found; those that are not quick are kept for a figure."""
    if not quick:
        keep(family, [found.bar])
    return Note(str(found))


def examine_polybench(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """The 30 kernels over the best of gcc, clang and Polly, and two families among them."""
    results, notes = race_suite(POLYBENCH, quick, stored)
    yield from notes
    if results:
        yield at_least("library.polybench_over_best", geometric_mean(over_best(results)), 4.0)
        yield at_least("library.polybench_least", min(over_best(results), default=0.0), 0.97)
        yield at_least("library.stencils_over_best", geometric_mean(over_best(_named(results, STENCILS))), 2.0)
        for result in _named(results, PROGRAMMING):
            yield at_least(f"library.{result.file}_over_best", min(over_best([result]), default=0.0), 4.0)


def examine_dsp(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """The DSP examples over the best compiler."""
    results, notes = race_suite(DSP, quick, stored)
    yield from notes
    if results:
        found = ratios(results, "compiler")
        yield at_least("library.dsp_over_compilers", geometric_mean(found), 2.0)
        yield at_least("library.dsp_least", min(found, default=0.0), 0.97)


def _named(results: Sequence[Result], names: Sequence[str]) -> list[Result]:
    return [x for x in results if x.file.removesuffix(".c") in names]
