// Prints the krew manifest of an archive: `node scripts/krew.js <archive.tar.gz> <address> [os/arch]`. The archive holds
// the executable `kubectl-gwk` and LICENSE.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';

const [archive, uri, platform = 'linux/amd64'] = process.argv.slice(2);
if (!archive || !uri) {
  process.stderr.write('usage: node scripts/krew.js <archive.tar.gz> <address> [os/arch]\n');
  process.exit(2);
}
const [os, arch] = platform.split('/');
const { version } = JSON.parse(readFileSync(new URL('../cli/package.json', import.meta.url), 'utf8'));
const bin = os === 'windows' ? 'kubectl-gwk.exe' : 'kubectl-gwk';
const manifest = {
  apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
  kind: 'Plugin',
  metadata: { name: 'gwk' },
  spec: {
    version: `v${version}`,
    homepage: 'https://github.com/gwk-dev/gwk',
    shortDescription: 'Show and repair the WhatsApp numbers of a gwk gateway',
    description:
      'Shows what keeps a number of a gwk gateway from sending, with the next command; pairs, restarts, ' +
      'pauses and resumes numbers; prints logs of engines; and writes a report for support without secrets.\n',
    caveats: 'The rights that each command needs are in docs/kubectl-plugin.md.\n',
    platforms: [
      {
        selector: { matchLabels: { os, arch } },
        uri,
        sha256: createHash('sha256').update(readFileSync(archive)).digest('hex'),
        bin,
        files: [
          { from: `./${bin}`, to: '.' },
          { from: './LICENSE', to: '.' },
        ],
      },
    ],
  },
};
process.stdout.write(stringify(manifest));
