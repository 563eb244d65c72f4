import { needsPush, parseDigests, PROGRAMS } from './publish.ts';

const [a, b] = ['a', 'b'].map((one) => `sha256:${one.repeat(64)}`) as [string, string];
const handed = PROGRAMS.map((program) => `${program}@${a}`);

test('reads one digest for each program', () => {
  expect(parseDigests(` ${handed.join(' ')}\n`)).toEqual(Object.fromEntries(PROGRAMS.map((one) => [one, a])));
});

test.each([
  ['nothing', []],
  ['a missing program', handed.slice(1)],
  ['an unknown program', [...handed, `other@${a}`]],
  ['a tag', [...handed.slice(1), `${PROGRAMS[0]}:0.1.0`]],
  ['an empty digest', [...handed.slice(1), `${PROGRAMS[0]}@`]],
  ['a short digest', [...handed.slice(1), `${PROGRAMS[0]}@sha256:aa`]],
])('refuses %s', (_, parts) => {
  expect(() => parseDigests(parts.join(' '))).toThrow('not one digest for each of api');
});

const list = (...digests: string[]) => digests.map((digest) => ({ digest }));
test('pushes a new tag, and leaves a tag with the same contents', () => {
  expect(needsPush('x:1', null, [a])).toBe(true);
  expect(needsPush('x:1', { manifests: list(b, a) }, [a, b])).toBe(false);
  expect(needsPush('x:1', { layers: list(a) }, [a])).toBe(false);
});

test.each([
  ['another image', { manifests: list(b) }],
  ['an image more', { manifests: list(a, b) }],
  ['another layer', { layers: list(b) }],
  ['nothing', {}],
])('refuses a tag with %s', (_, published) => {
  expect(() => needsPush('x:1', published, [a])).toThrow('x:1 is published already');
});
