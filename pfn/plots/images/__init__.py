"""Pictures of values: heatmaps, equations, convergence, films, spectrograms and piano rolls."""
