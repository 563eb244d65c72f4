// Writes THIRD-PARTY.md (`make licences`) and reports packages whose licence is not allowed.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findFault, lockedPackages, page } from '../test/repository/licences.js';

const root = new URL('../', import.meta.url);
const packages = lockedPackages(fileURLToPath(new URL('package-lock.json', root)));
const faults = packages.map(findFault).filter((fault) => fault !== null);
for (const fault of faults) console.error(fault);
writeFileSync(new URL('THIRD-PARTY.md', root), page(packages));
process.exitCode = faults.length > 0 ? 1 : 0;
