import { ensureDefinitions } from '../chart/definitions.js';
import { ensureHelm } from '../chart/helm-binary.js';
import { ensureBinaries } from './binaries.js';

/** Builds the Kubernetes programs that tests need, if they are missing and can be downloaded (make kubernetes). */
const say = (line: string) => process.stdout.write(`${line}\n`);

function demand<Found extends object>(found: Found): Exclude<Found, { missing: string }> {
  if (!('missing' in found)) return found as Exclude<Found, { missing: string }>;
  process.stderr.write(`kubernetes: ${String(found.missing)}\n`);
  process.exit(1);
}

say(`kubernetes: ${demand(await ensureBinaries(say)).binaries.folder}`);
say(`helm: ${demand(await ensureHelm(say)).helm}`);
say(`helm 3: ${demand(await ensureHelm(say, 3)).helm}`);
say(`definitions: ${demand(ensureDefinitions(say)).folder}`);
