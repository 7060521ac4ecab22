"""Search spaces: of the strategies that match a nest, and of scripts with holes."""
