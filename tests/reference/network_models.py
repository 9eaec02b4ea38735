"""Models of network weights as plain NumPy float64 loops, written from the papers; all networks have ReLU layers."""

import numpy as np


class Perceptron:
    """Network with biases whose weights are one vector, in the order of layers, weight matrix before bias."""

    def __init__(self, sizes):
        self.sizes = sizes

    def layers(self, w):
        layers, first = [], 0
        for n_in, n_out in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            matrix = w[first : first + n_in * n_out].reshape(n_in, n_out)
            first += n_in * n_out
            layers.append((matrix, w[first : first + n_out]))
            first += n_out
        return layers

    def apply(self, w, x):
        *hidden, (last, bias) = self.layers(w)
        for matrix, b in hidden:
            x = np.maximum(x @ matrix + b, 0)
        return x @ last + bias

    def gradient(self, w, x, k):
        """Return the gradient of output k by the chain rule."""
        layers, passed = self.layers(w), [x]
        for matrix, b in layers[:-1]:
            passed.append(np.maximum(passed[-1] @ matrix + b, 0))
        back, parts = np.eye(self.sizes[-1])[k], []
        for (matrix, _), before in zip(reversed(layers), reversed(passed), strict=True):
            parts.append(np.concatenate([np.outer(before, back).ravel(), back]))
            back = (matrix @ back) * (before > 0)
        return np.concatenate(parts[::-1])


class Langevin(Perceptron):
    """LMC-TS, Algorithm 1: N Langevin steps on the sum of losses, from the weights of the round before."""

    def __init__(self, sizes, w, rate, temperature, decay, feel_good=0.0, bound=np.inf):
        super().__init__(sizes)
        self.w, self.rate, self.temperature, self.decay = w, rate, temperature, decay
        self.feel_good, self.bound, self.rows = feel_good, bound, []

    def loss_gradient(self):
        total = 2 * self.decay * self.w
        for x, k, y in self.rows:
            outputs = self.apply(self.w, x)
            total = total + 2 * (outputs[k] - y) * self.gradient(self.w, x, k)
            best = outputs.argmax()
            if outputs[best] < self.bound:
                total = total - self.feel_good * self.gradient(self.w, x, best)
        return total

    def update(self, t, x, k, y, capacity, every, noise):
        """Add a round, and take a step for each row of `noise` in rounds of training."""
        if len(self.rows) < capacity:
            self.rows.append((x, k, y))
        else:
            self.rows[t % capacity] = (x, k, y)
        if (t + 1) % every == 0:
            for xi in noise:
                eta = self.rate / (t + 1)
                self.w = self.w - eta * self.loss_gradient() + np.sqrt(2 * eta * self.temperature) * xi


def langevin_law(start, design, reward, rate, temperature, decay, n_steps):
    """Return the mean and covariance of w after steps on a linear model: every step is affine, with Gaussian noise.

    w <- (I - 2 eta V) w + 2 eta X'y + sqrt(2 eta tau) xi,   V = X'X + lambda I

    Args:
      start: mean and covariance of the first weights.
      design: X `[t, d]`.
      reward: y `[t]`.
      rate: eta.
      temperature: tau.
      decay: lambda.
      n_steps: number of steps.
    """
    mean, covariance = start
    V = design.T @ design + decay * np.eye(design.shape[1])
    A = np.eye(len(V)) - 2 * rate * V
    for _ in range(n_steps):
        mean = A @ mean + 2 * rate * design.T @ reward
        covariance = A @ covariance @ A.T + 2 * rate * temperature * np.eye(len(V))
    return mean, covariance


class Subspace(Perceptron):
    """Extended Kalman filter of coordinates that do not move, in covariance form: gain, innovation."""

    def __init__(self, sizes, origin, basis, R, prior_scale):
        super().__init__(sizes)
        self.origin, self.A, self.R = origin, basis, R
        self.z, self.Sigma = np.zeros(basis.shape[1]), prior_scale**2 * np.eye(basis.shape[1])

    @property
    def w(self):
        return self.origin + self.A @ self.z

    def predict(self, x, k):
        return self.apply(self.w, x)[k]

    def jacobian(self, x, k):
        return self.A.T @ self.gradient(self.w, x, k)

    def width(self, x, k):
        h = self.jacobian(x, k)
        return np.sqrt(h @ self.Sigma @ h)

    def update(self, x, k, y):
        h = self.jacobian(x, k)
        gain = self.Sigma @ h / (h @ self.Sigma @ h + self.R**2)
        self.z = self.z + gain * (y - self.predict(x, k))
        self.Sigma = self.Sigma - np.outer(gain, h @ self.Sigma)


class NeuralUCB:
    """Zhou, Li & Gu (2020) on the vectors of the arms: blocks (0, ..., x, ..., 0), doubled, norm kept.

    f = sqrt(m) W_L relu(... relu(W_1 x)), no biases; Z is a diagonal over all weights, lambda I at first.
    """

    def __init__(self, weights, ridge, R=1.0):
        self.W, self.W0 = [np.array(w) for w in weights], [np.array(w) for w in weights]
        self.ridge, self.R, self.m = ridge, R, len(weights[-1])
        self.Z, self.rows = [np.full_like(w, ridge) for w in self.W], []

    @staticmethod
    def double(x):
        return np.concatenate([x, x]) / np.sqrt(2)

    def forward(self, x):
        passed = [self.double(x)]
        for w in self.W[:-1]:
            passed.append(np.maximum(w @ passed[-1], 0))
        return passed, np.sqrt(self.m) * self.W[-1] @ passed[-1]

    def gradient(self, x):
        passed, _ = self.forward(x)
        parts, back = [np.sqrt(self.m) * passed[-1]], np.sqrt(self.m) * self.W[-1]
        for w, before, after in zip(self.W[-2::-1], passed[-2::-1], passed[:0:-1], strict=True):
            back = back * (after > 0)
            parts.append(np.outer(back, before))
            back = w.T @ back
        return parts[::-1]

    def predict(self, x):
        return self.forward(x)[1]

    def width(self, x):
        return self.R * np.sqrt(sum((g**2 / z).sum() for g, z in zip(self.gradient(x), self.Z, strict=True)) / self.m)

    def update(self, t, x, y, capacity, every, n_steps, eta, restarts):
        self.Z = [z + g**2 / self.m for z, g in zip(self.Z, self.gradient(x), strict=True)]
        if len(self.rows) < capacity:
            self.rows.append((x, y))
        else:
            self.rows[t % capacity] = (x, y)
        if (t + 1) % every:
            return
        if restarts:
            self.W = [w.copy() for w in self.W0]
        for _ in range(n_steps):
            total = [self.m * self.ridge * (w - w0) for w, w0 in zip(self.W, self.W0, strict=True)]
            for row, reward in self.rows:
                error = self.predict(row) - reward
                total = [a + error * g for a, g in zip(total, self.gradient(row), strict=True)]
            self.W = [w - eta / len(self.rows) * g for w, g in zip(self.W, total, strict=True)]
