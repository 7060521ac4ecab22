/* The transforms of dft.c by FFTW 3: a patient plan, made when this is loaded, for arrays that begin on a page as those
 * that are timed do; others get a plan of their own, without patience. */

#include <fftw3.h>
#include <stdlib.h>

enum { PAGE = 4096 };

static fftwf_plan patient, other;

static fftwf_complex *allocate(void) {
  return aligned_alloc(PAGE, (sizeof(fftwf_complex) * SIZE + PAGE - 1) / PAGE * PAGE);
}

__attribute__((constructor)) static void make_plans(void) {
  fftwf_complex *in = allocate(), *out = allocate();
  patient = fftwf_plan_dft_1d(SIZE, in, out, FFTW_FORWARD, FFTW_PATIENT);
  other = fftwf_plan_dft_1d(SIZE, in, out, FFTW_FORWARD, FFTW_ESTIMATE | FFTW_UNALIGNED);
  free(in), free(out);
}

void dft(int rows, const float x[rows][SIZE][2], float y[rows][SIZE][2]) {
  for (int i = 0; i < rows; i++) {
    const int aligned = !fftwf_alignment_of((float *)x[i]) && !fftwf_alignment_of((float *)y[i]);
    fftwf_execute_dft(aligned ? patient : other, (fftwf_complex *)x[i], (fftwf_complex *)y[i]);
  }
}
