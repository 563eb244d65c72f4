import { readCommands, SECTIONS, SETTINGS } from './verify.ts';

test('reads the commands of a page by heading', () => {
  const page =
    '# T\n\n```sh\nA=1\n```\n\n## One\n\n```sh\nx\n```\n\n```text\nno\n```\n\n```sh\ny\n```\n\n## Prose\n\nz\n';
  expect(readCommands(page)).toEqual({ settings: 'A=1\n', sections: new Map([['One', 'x\ny\n']]) });
});

test('docs/verify.md has the sections that a rehearsal changes something for', () => {
  expect([...SECTIONS.keys()]).toEqual(['Chart', 'Images', 'SBOM', 'Files']);
  for (const name of ['VERSION', 'REGISTRY', 'SIGNER']) expect(SETTINGS).toContain(`${name}=`);
});
