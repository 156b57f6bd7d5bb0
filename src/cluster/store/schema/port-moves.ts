/**
 * A server that has come to another host is connected there when that host says so; where a live migration or an evacuation
 * brings it, the host may have said so before.
 */
export const portMoves = `
CREATE TRIGGER instances_moved_unplug_ports AFTER UPDATE OF host ON instances WHEN NEW.host IS NOT OLD.host
BEGIN
  UPDATE ports SET plugged_on = CASE
    WHEN NEW.host IN (SELECT value FROM json_each(ports.plugged_on)) AND EXISTS (
      SELECT 1 FROM migrations WHERE instance_uuid = NEW.uuid AND deleted = 0 AND dest_compute = NEW.host
      AND migration_type IN ('live-migration', 'evacuation')
      AND status IN ('accepted', 'queued', 'preparing', 'running', 'running (post-copy)', 'pre-migrating', 'post-migrating', 'done')
    ) THEN json_array(NEW.host) ELSE '[]' END
  WHERE device_id = NEW.uuid AND plugged_on <> '[]';
END;
`;
