import type { Capabilities } from "../../src/virt/index.js";

export const CAPABILITIES: Capabilities = Object.freeze({
  supportsEvacuate: true,
  supportsFencing: true,
  supportsPcpus: true,
  supportsAttachInterface: true,
  supportsTaggedAttachInterface: true,
  supportsDeviceTagging: true,
  supportsTaggedAttachVolume: true,
  supportsExtendVolume: true,
  supportsMultiattach: true,
  supportsTrustedCerts: true,
  supportsAccelerators: true,
  supportsImageTypeRaw: true,
  supportsImageTypeQcow2: true,
});
