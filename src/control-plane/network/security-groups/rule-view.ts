import { isoSeconds } from "../../http/times.js";
import type { SecurityGroupRule } from "../../store/security-groups.js";
import type { Attributes } from "../api/listing.js";
import { withoutHostBits } from "./remote-prefix.js";

export const RULE: Attributes<SecurityGroupRule> = {
  id: ({ uuid }) => uuid,
  tenant_id: ({ projectId }) => projectId,
  project_id: ({ projectId }) => projectId,
  security_group_id: ({ groupUuid }) => groupUuid,
  ethertype: ({ ethertype }) => ethertype,
  direction: ({ direction }) => direction,
  protocol: ({ protocol }) => protocol,
  port_range_min: ({ portMin }) => portMin,
  port_range_max: ({ portMax }) => portMax,
  remote_ip_prefix: ({ remotePrefix }) => remotePrefix,
  remote_group_id: ({ remoteGroup }) => remoteGroup,
  remote_address_group_id: () => null,
  normalized_cidr: ({ remotePrefix }) => (remotePrefix === null ? null : withoutHostBits(remotePrefix)),
  description: ({ description }) => description,
  tags: () => [],
  created_at: ({ createdAt }) => isoSeconds(createdAt),
  updated_at: ({ createdAt }) => isoSeconds(createdAt),
  revision_number: () => 0,
};
