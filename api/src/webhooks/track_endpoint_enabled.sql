-- Sets disabled_at when an endpoint is disabled. Enabling it clears its failures.
CREATE OR REPLACE FUNCTION gwk_track_endpoint_enabled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.enabled AND NOT NEW.enabled THEN
    NEW.disabled_at := now();
  ELSIF NEW.enabled AND NOT OLD.enabled THEN
    NEW.disabled_at := NULL;
    NEW.disabled_reason := NULL;
    NEW.failing_since := NULL;
    NEW.last_failed_at := NULL;
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER webhook_endpoints_enabled BEFORE UPDATE OF enabled ON webhook_endpoints
  FOR EACH ROW EXECUTE FUNCTION gwk_track_endpoint_enabled();
