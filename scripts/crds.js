// Writes crds/ and the chart's copy from the schemas of core; with --check it only says whether that would change anything.
import { readFileSync, writeFileSync } from 'node:fs';
import { instanceCrd } from '@gwk/core/crd/instance-crd';
import { stringify } from 'yaml';

const NAME = 'gwk.dev_instances.yaml';
const files = ['crds', 'charts/gwk/files/crds'].map(
  (folder) => new URL(`../${folder}/${NAME}`, import.meta.url),
);
const head = '# Made from core/src/resources/manifest.ts by `make crds`; do not edit.\n';
const wanted = head + stringify(instanceCrd(), { lineWidth: 110, aliasDuplicateObjects: false });

if (!process.argv.includes('--check')) for (const file of files) writeFileSync(file, wanted);
else if (files.some((file) => readFileSync(file, 'utf8') !== wanted)) {
  process.stderr.write('crds/ or the copy in charts/gwk/files/crds is not what core says. Run: make crds\n');
  process.exit(1);
}
