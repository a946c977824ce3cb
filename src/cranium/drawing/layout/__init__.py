"""The layered graph layout of drawings: layers, grid, coordinates, edge routing and text sizes."""
