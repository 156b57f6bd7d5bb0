/**
 * Version 4: a host is mapped to the cell as soon as it has a compute node, as if hosts were discovered all the time; deleting
 * its service is what unmaps it (spec 7.1 step 7).
 */
export const hostMappingRules = `
INSERT OR IGNORE INTO host_mappings (host) SELECT host FROM compute_nodes WHERE deleted = 0;

CREATE TRIGGER compute_nodes_map_host AFTER INSERT ON compute_nodes
BEGIN INSERT OR IGNORE INTO host_mappings (host) VALUES (NEW.host); END;

CREATE TRIGGER compute_nodes_map_moved_host AFTER UPDATE OF host, deleted ON compute_nodes
WHEN NEW.deleted = 0 AND (OLD.deleted <> 0 OR NEW.host <> OLD.host)
BEGIN INSERT OR IGNORE INTO host_mappings (host) VALUES (NEW.host); END;
`;
