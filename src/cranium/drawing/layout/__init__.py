"""Layout of drawings: layers, grid, coordinates, routes and sizes."""
