const UNDER_WAY =
  "'accepted', 'queued', 'preparing', 'running', 'running (post-copy)', 'pre-migrating', 'post-migrating'";

/**
 * A server that has come to another host is connected there when that host says so; where a live migration or an evacuation
 * brings it, the host may have said so before. One that came to nothing leaves the server connected where it is, so that the next
 * one to the same host is waited for.
 */
export const portMoves = `
CREATE TRIGGER instances_moved_unplug_ports AFTER UPDATE OF host ON instances WHEN NEW.host IS NOT OLD.host
BEGIN
  UPDATE ports SET plugged_on = CASE
    WHEN NEW.host IN (SELECT value FROM json_each(ports.plugged_on)) AND EXISTS (
      SELECT 1 FROM migrations WHERE instance_uuid = NEW.uuid AND deleted = 0 AND dest_compute = NEW.host
      AND migration_type IN ('live-migration', 'evacuation')
      AND status IN (${UNDER_WAY}, 'done')
    ) THEN json_array(NEW.host) ELSE '[]' END
  WHERE device_id = NEW.uuid AND plugged_on <> '[]';
END;

CREATE TRIGGER moves_given_up_unplug_ports AFTER UPDATE OF status ON migrations
WHEN NEW.migration_type IN ('live-migration', 'evacuation') AND NEW.status IN ('failed', 'cancelled', 'error')
BEGIN
  UPDATE ports SET plugged_on = (
    SELECT json_group_array(value) FROM json_each(ports.plugged_on)
    WHERE value <> NEW.dest_compute OR value IN (SELECT host FROM instances WHERE uuid = NEW.instance_uuid AND deleted = 0)
    OR EXISTS (
      SELECT 1 FROM migrations WHERE instance_uuid = NEW.instance_uuid AND deleted = 0 AND dest_compute = value
      AND migration_type IN ('live-migration', 'evacuation') AND status IN (${UNDER_WAY})
    )
  )
  WHERE device_id = NEW.instance_uuid AND plugged_on <> '[]';
END;
`;
