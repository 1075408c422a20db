"""Structure: degrees of freedom, redundant equations and remedies, integrability, ignorable coordinates."""
