import { findObstacle } from './former.ts';

const clone = { clone: true, former: true, migrations: [], released: false, packages: false };
const migrations = ['api/prisma/migrations/0_init/migration.sql'];

test.each([
  ['a clone with its former commit', clone, null],
  ['an archive without history', { ...clone, clone: false, former: false }, 'not a clone'],
  ['a shallow clone', { ...clone, former: false }, 'git fetch --deepen 1'],
  ['other packages', { ...clone, packages: true }, 'package-lock.json'],
  ['a changed migration before the first release', { ...clone, migrations }, migrations[0]!],
  ['a changed migration after a release', { ...clone, migrations, released: true }, null],
])('upgrade from the former commit of %s', (_, history, reason) => {
  const found = findObstacle(history);
  if (reason === null) expect(found).toBeNull();
  else expect(found).toContain(reason);
});
