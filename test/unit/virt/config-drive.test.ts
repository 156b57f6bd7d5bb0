import { describe, expect, test } from "vitest";
import { configDriveFiles, configDriveMetadata } from "../../../src/virt/config-drive.js";
import { instanceOf, UUID } from "./fixtures.js";

const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
const encoded = (value: string) => Buffer.from(value).toString("base64");

describe("8.15 the content of a config drive", () => {
  test("metadata as in OpenStack, with the user's key pair", () => {
    const attributes = {
      displayName: "vm",
      hostname: "vm",
      metadata: { a: "b" },
      launchIndex: 2,
      availabilityZone: "east",
    };
    const instance = instanceOf({ ...attributes, keyName: "mine", keyData: "ssh-rsa AAAA" });
    expect(configDriveMetadata(instance)).toEqual({
      uuid: UUID,
      name: "vm",
      hostname: "vm",
      project_id: instance.projectId,
      launch_index: 2,
      availability_zone: "east",
      meta: { a: "b" },
      public_keys: { mine: "ssh-rsa AAAA" },
      keys: [{ name: "mine", type: "ssh", data: "ssh-rsa AAAA" }],
    });
    expect(configDriveMetadata(instanceOf({ keyName: null }))).not.toHaveProperty("keys");
  });

  test("user data and files are bytes; a file's own path is not its path on the drive", () => {
    const injectedFiles = [
      { path: "/etc/motd", contents: encoded("one") },
      { path: "../../etc/passwd", contents: encoded("two") },
    ];
    const files = configDriveFiles(instanceOf({ userData: encoded("#!/bin/sh"), injectedFiles }));
    const byPath = new Map(files.map(({ path, bytes }) => [path, text(bytes)]));
    expect([...byPath.keys()]).toEqual([
      "openstack/latest/meta_data.json",
      "openstack/latest/user_data",
      "openstack/content/0000",
      "openstack/content/0001",
    ]);
    expect(byPath.get("openstack/latest/user_data")).toBe("#!/bin/sh");
    expect(byPath.get("openstack/content/0001")).toBe("two");
    expect(JSON.parse(byPath.get("openstack/latest/meta_data.json") ?? "")).toMatchObject({
      files: [
        { path: "/etc/motd", content_path: "/content/0000" },
        { path: "../../etc/passwd", content_path: "/content/0001" },
      ],
    });
  });

  test("without user data and files it has only metadata", () => {
    const [metadata, ...others] = configDriveFiles(instanceOf());
    expect(others).toEqual([]);
    expect(JSON.parse(text(metadata?.bytes))).not.toHaveProperty("files");
  });
});
