-- The state of a source at which a run read it, and the folder where that can be looked up again.
ALTER TABLE runs ADD COLUMN revision text, ADD COLUMN folder text;
