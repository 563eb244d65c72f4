// Writes crds/ from the schemas of core; with --check it only says whether that would change anything.
import { readFileSync, writeFileSync } from 'node:fs';
import { instanceCrd } from '@gwk/core/crd/instance-crd';
import { stringify } from 'yaml';

const file = new URL('../crds/gwk.dev_instances.yaml', import.meta.url);
const head = '# Made from core/src/resources/manifest.ts by `make crds`; do not edit.\n';
const wanted = head + stringify(instanceCrd(), { lineWidth: 110, aliasDuplicateObjects: false });

if (!process.argv.includes('--check')) writeFileSync(file, wanted);
else if (readFileSync(file, 'utf8') !== wanted) {
  process.stderr.write('crds/ is not what core says. Run: make crds\n');
  process.exit(1);
}
