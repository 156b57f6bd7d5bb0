#!/bin/bash
# enrol-real.sh STATE_DIR TEMPLATE_UUID FIRST COUNT: in the MariaDB of start-real.sh, copies the node TEMPLATE_UUID and its
# traits to nodes FIRST to FIRST+COUNT-1, named and numbered as the embedded Ironic enrols them: thousands in seconds.
set -euo pipefail
state=$1 template=$2 first=$3 count=$4
sql() { mariadb --no-defaults -uroot -S "$state/my.sock" -N -B ironic; }
columns=$(sql <<<"select group_concat(concat('\`', column_name, '\`')) from information_schema.columns
  where table_schema = 'ironic' and table_name = 'nodes' and column_name not in ('id', 'uuid', 'name')")
sql <<SQL
insert into nodes (uuid, name, $columns)
  select concat('ba5eba11-0000-4000-8000-', lpad(seq, 12, '0')), concat('bm-', lpad(seq, 6, '0')), $columns
  from nodes join seq_${first}_to_$((first + count - 1)) where uuid = '$template' order by seq;
insert into node_traits (created_at, version, node_id, trait)
  select t.created_at, t.version, n.id, t.trait from node_traits t
  join nodes o on o.id = t.node_id and o.uuid = '$template'
  join nodes n on n.uuid between concat('ba5eba11-0000-4000-8000-', lpad($first, 12, '0'))
    and concat('ba5eba11-0000-4000-8000-', lpad($((first + count - 1)), 12, '0'));
SQL
