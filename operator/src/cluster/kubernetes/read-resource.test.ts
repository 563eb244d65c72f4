import type { InstanceResource } from '@gwk/core/resources/manifest';
import { at, NOW, resource } from '@gwk/test/support/operator/build';
import { readResource } from './read-resource.js';

/** A resource of a newer operator, or one written past the schema. */
const newer = (metadata: Partial<InstanceResource['metadata']> = {}): InstanceResource =>
  resource({ interactiveMode: 'hologram' as never }, { resourceVersion: '2', ...metadata });
const dying = { deletionTimestamp: at(NOW) };
const before = resource();

const CASES: [string, InstanceResource, InstanceResource | undefined, object | null, boolean][] = [
  ['is read', resource(), undefined, before, true],
  [
    'without its invalid status',
    { ...resource(), status: { conditions: [{ type: 'Holographic' }] } as never },
    undefined,
    { spec: before.spec, status: undefined },
    true,
  ],
  ['in its last known state if it is unsupported', newer(), before, before, false],
  ['not at all if it was never supported', newer(), undefined, null, false],
  [
    'in its last known state if it is unsupported and being deleted',
    newer(dying),
    before,
    { spec: before.spec, metadata: { ...dying, resourceVersion: '2' } },
    false,
  ],
  [
    'with its metadata if it was never supported and is being deleted',
    newer(dying),
    undefined,
    { metadata: dying },
    false,
  ],
];

test.each(CASES)('reads a resource %s', (...[, raw, known, expected, understood]) => {
  const { resource: seen, faults } = readResource(raw, known);
  if (expected === null) expect(seen).toBeNull();
  else expect(seen).toMatchObject(expected);
  expect(faults === null).toBe(understood);
  if (faults !== null) expect(faults).toContain('spec.interactiveMode');
});
