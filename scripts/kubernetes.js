// Builds the Kubernetes programs that tests need, if they are missing and can be downloaded.
import { ensureDefinitions } from '@gwk/test/support/chart/definitions';
import { ensureHelm } from '@gwk/test/support/chart/helm-binary';
import { ensureBinaries } from '@gwk/test/support/kubernetes/binaries';

const found = await ensureBinaries((line) => process.stdout.write(`${line}\n`));
if ('missing' in found) {
  process.stderr.write(`kubernetes: ${found.missing}\n`);
  process.exit(1);
}
process.stdout.write(`kubernetes: ${found.binaries.folder}\n`);
const helm = await ensureHelm((line) => process.stdout.write(`${line}\n`));
if ('missing' in helm) {
  process.stderr.write(`helm: ${helm.missing}\n`);
  process.exit(1);
}
process.stdout.write(`helm: ${helm.helm}\n`);
const definitions = ensureDefinitions((line) => process.stdout.write(`${line}\n`));
if ('missing' in definitions) {
  process.stderr.write(`definitions: ${definitions.missing}\n`);
  process.exit(1);
}
process.stdout.write(`definitions: ${definitions.folder}\n`);
