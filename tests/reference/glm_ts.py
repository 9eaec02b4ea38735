"""GLM-TS as a plain NumPy float64 loop: the estimate and the Hessian of GLB-OMD, draws by the Cholesky root of H."""

import numpy as np

from tests.reference.glb_omd import GLBOMD


class GLMTS(GLBOMD):
    """The state and one round, given the standard normals z of its draw."""

    def __init__(self, family, d, S, width, in_set, **constants):
        super().__init__(family, d, S, **constants)
        self.v, self.in_set = width, in_set

    def draw(self, z):
        """theta~ with covariance v^2 H^{-1}: H = L L', L'^{-1} z."""
        v = self.v * (self.beta() if self.in_set else 1.0)
        return self.theta + v * np.linalg.solve(np.linalg.cholesky(self.H).T, z)
