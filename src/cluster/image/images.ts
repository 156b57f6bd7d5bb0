/** An image that servers can be asked for with. Nothing reads its data: guests of emulated hypervisors don't boot. */
export interface Image {
  readonly id: string;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

export const IMAGES: readonly Image[] = [
  { id: "c0ffee00-0000-4000-8000-000000000001", name: "cirros", size: 21_430_272 },
];

const CREATED = "2024-01-01T00:00:00Z";

export const imageView = ({ id, name, size }: Image): Readonly<Record<string, unknown>> => ({
  id,
  name,
  status: "active",
  visibility: "public",
  protected: true,
  container_format: "bare",
  disk_format: "qcow2",
  size,
  virtual_size: 117_440_512,
  min_disk: 0,
  min_ram: 0,
  owner: null,
  os_hidden: false,
  checksum: null,
  os_hash_algo: null,
  os_hash_value: null,
  tags: [],
  created_at: CREATED,
  updated_at: CREATED,
  self: `/v2/images/${id}`,
  file: `/v2/images/${id}/file`,
  schema: "/v2/schemas/image",
});
