"""The paper's tables and figures, all of those that the data and agents at hand allow."""
