/** An image that servers can be asked for with. Nothing reads its data: guests of emulated hypervisors don't boot. */
export interface Image {
  readonly id: string;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Bytes of the disk that it makes. */
  readonly virtualSize: number;
  /** GiB. */
  readonly minDisk: number;
  /** ISO 8601, in seconds. */
  readonly createdAt: string;
  /** The project that alone sees it; null: every project sees it, and none may delete it. */
  readonly owner: string | null;
  /** Further members. */
  readonly properties: Readonly<Record<string, string>>;
}

/** What every cloud has. */
export const BASE: Image = {
  id: "c0ffee00-0000-4000-8000-000000000001",
  name: "cirros",
  size: 21_430_272,
  virtualSize: 117_440_512,
  minDisk: 0,
  createdAt: "2024-01-01T00:00:00Z",
  owner: null,
  properties: {},
};

export function imageView(image: Image): Readonly<Record<string, unknown>> {
  return {
    ...image.properties,
    id: image.id,
    name: image.name,
    status: "active",
    visibility: image.owner === null ? "public" : "private",
    protected: image.owner === null,
    container_format: "bare",
    disk_format: "qcow2",
    size: image.size,
    virtual_size: image.virtualSize,
    min_disk: image.minDisk,
    min_ram: 0,
    owner: image.owner,
    os_hidden: false,
    checksum: null,
    os_hash_algo: null,
    os_hash_value: null,
    tags: [],
    created_at: image.createdAt,
    updated_at: image.createdAt,
    self: `/v2/images/${image.id}`,
    file: `/v2/images/${image.id}/file`,
    schema: "/v2/schemas/image",
  };
}
