// Writes crds/ and the copy in the chart from the schemas of core. With --check it only compares them.
import { readFileSync, writeFileSync } from 'node:fs';
import { instanceCrd } from './crd/instance-crd.ts';
import { stringify } from 'yaml';

const NAME = 'gwk.dev_instances.yaml';
const files = ['crds', 'charts/gwk/files/crds'].map(
  (folder) => new URL(`../${folder}/${NAME}`, import.meta.url),
);
const head = '# Made from core/src/resources/manifest.ts by `make crds`; do not edit.\n';
const wanted = head + stringify(instanceCrd(), { lineWidth: 110, aliasDuplicateObjects: false });

if (!process.argv.includes('--check')) for (const file of files) writeFileSync(file, wanted);
else if (files.some((file) => readFileSync(file, 'utf8') !== wanted)) {
  process.stderr.write('crds/ or the copy in charts/gwk/files/crds is outdated. Run: make crds\n');
  process.exit(1);
}
