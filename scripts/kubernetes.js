// Builds the programs of Kubernetes that tests run, where they are missing and can be had.
import { ensureBinaries } from '@gwk/test/harness/kubernetes/binaries';

const found = await ensureBinaries((line) => process.stdout.write(`${line}\n`));
if ('missing' in found) {
  process.stderr.write(`kubernetes: ${found.missing}\n`);
  process.exit(1);
}
process.stdout.write(`kubernetes: ${found.binaries.folder}\n`);
