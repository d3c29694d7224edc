"""Language models that judge: requests with a schema, typed verdicts, nothing substituted."""
