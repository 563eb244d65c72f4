// npm run release:functions: writes the SQL functions of this version to functions.sql. Each release runs it once.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readFunctions } from '@gwk/api/database/sql-functions';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const former = path('functions.sql');

function describeFunctions() {
  const functions = readFunctions(path('../../api/src'));
  return functions.map(({ sql }) => sql.replace(/^ *--.*\n/gm, '')).join('\n');
}

/** The functions of this version, as the snapshot of a release contains them. */
export const writeSnapshot = (version) =>
  `-- SQL functions of gwk ${version} (snapshot.js).\n\n${describeFunctions()}`;

/** Whether a function differs from that of the former release. Otherwise the tier upgrade would only repeat integration. */
export function haveFunctionsChanged(snapshot = readFileSync(former, 'utf8')) {
  const [, , ...lines] = snapshot.split('\n');
  return lines.join('\n') !== describeFunctions();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { version } = JSON.parse(readFileSync(path('../../package.json'), 'utf8'));
  writeFileSync(former, writeSnapshot(version));
}
