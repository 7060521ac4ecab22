"""Loop transformations by pattern: stencils, scans, histograms, inner nests, non-temporal stores."""
