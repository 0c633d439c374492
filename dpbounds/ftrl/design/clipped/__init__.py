"""What a clipped run costs: a Gaussian closure on records, and for least squares its short form on a spectrum.

Clipping the gradient x r of one record to norm c is clipping its residual r to c / ||x||. The closure carries the mean
of the iterate and its covariance with every draw of noise; for Gaussian iterates the part of the noise is exact.
Everything here is computed from the records given, which must be public or stand for the private ones.
"""

from dpbounds.ftrl.design.clipped.directions import by_direction
from dpbounds.ftrl.design.clipped.expectations import Moments, moments
from dpbounds.ftrl.design.clipped.logistic import forecast_logistic
from dpbounds.ftrl.design.clipped.proxies import ProxyRecords
from dpbounds.ftrl.design.clipped.records import forecast
from dpbounds.ftrl.design.clipped.results import ORDERS, ClippedForecast, Order

__all__ = [
    "ORDERS",
    "ClippedForecast",
    "Moments",
    "Order",
    "ProxyRecords",
    "by_direction",
    "forecast",
    "forecast_logistic",
    "moments",
]
