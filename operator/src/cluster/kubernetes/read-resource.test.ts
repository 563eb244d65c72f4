import type { InstanceResource } from '@gwk/core/resources/manifest';
import { at, NOW, resource } from '@gwk/test/support/operator/build';
import { readResource } from './read-resource.js';

/** Of a newer operator, or of whoever wrote past the definition. */
const newer = (metadata: Partial<InstanceResource['metadata']> = {}): InstanceResource =>
  resource({ interactiveMode: 'hologram' as never }, { resourceVersion: '2', ...metadata });
const dying = { deletionTimestamp: at(NOW) };
const before = resource();

const CASES: [string, InstanceResource, InstanceResource | undefined, object | null, boolean][] = [
  ['is read', resource(), undefined, before, true],
  [
    'with a status that is not understood is read without it',
    { ...resource(), status: { conditions: [{ type: 'Holographic' }] } as never },
    undefined,
    { spec: before.spec, status: undefined },
    true,
  ],
  ['that is not understood stays as it last was', newer(), before, before, false],
  ['that never was understood is left alone', newer(), undefined, null, false],
  [
    'that is not understood can be deleted, as it last was',
    newer(dying),
    before,
    { spec: before.spec, metadata: { ...dying, resourceVersion: '2' } },
    false,
  ],
  ['that never was understood can be deleted', newer(dying), undefined, { metadata: dying }, false],
];

test.each(CASES)('a resource %s', (...[, raw, known, expected, understood]) => {
  const { resource: seen, faults } = readResource(raw, known);
  if (expected === null) expect(seen).toBeNull();
  else expect(seen).toMatchObject(expected);
  expect(faults === null).toBe(understood);
  if (faults !== null) expect(faults).toContain('spec.interactiveMode');
});
