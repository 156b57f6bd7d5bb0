"""Tests of nova.tests.functional.test_servers_resource_request that cannot be run from outside, by patterns of their ids."""

import re

PCI = "PCI: the product's hosts have no PCI devices"
VERSIONS = "in process: the versions of compute services"

SKIPS = [
    (r"^NonAdmin", "policy: the rules of Nova's policy are changed in its process"),
    (r"^ExtendedResourceRequestOldCompute\.|_old_compute$", VERSIONS),
    (r"^CrossCellResize", "cells: the product has one"),
    (r"_pci_|test_two_sriov_ports|test_one_sriov_port|test_sriov_macvtap", PCI),
    (r"_fill_provider_mapping_raises$", "in process: an error of the conductor's function fill_provider_mapping"),
]


def skip_reason(test_id):
    return next((reason for pattern, reason in SKIPS if re.search(pattern, test_id)), None)
