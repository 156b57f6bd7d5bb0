/** Glance's `[image_format] container_formats`. */
export const CONTAINERS = ["ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed"] as const;

/** Glance's `[image_format] disk_formats`. */
export const DISKS = ["ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop"] as const;
