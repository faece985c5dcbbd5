-- Topics are no longer joined or split by hand.
DROP TABLE version_corrections;
