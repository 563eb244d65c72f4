import { INSTALLATION, PAGE, readCommands, SECTIONS } from './verify.ts';

test('reads the commands of a page by heading', () => {
  const page =
    '# T\n\n```sh\nA=1\n```\n\n## One\n\n```sh\nx\n```\n\n```text\nno\n```\n\n```sh\ny\n```\n\n## Prose\n\nz\n';
  expect(readCommands(page)).toEqual({ settings: 'A=1\n', sections: new Map([['One', ['x\n', 'y\n']]]) });
});

test('docs/verify.md has the sections that a rehearsal changes something for', () => {
  expect(SECTIONS).toEqual(['Chart', 'Images', 'SBOM', 'Files']);
  expect(INSTALLATION).toMatch(
    /^DIGEST=[^]*@\$DIGEST"[^]*--install gwk "oci:\/\/\$REGISTRY\/charts\/gwk@\$DIGEST"/,
  );
  for (const name of ['VERSION', 'REGISTRY', 'SIGNER'])
    expect(readCommands(PAGE).settings).toContain(`${name}=`);
});
