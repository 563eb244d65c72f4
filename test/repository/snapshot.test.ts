/** Plain JavaScript without declarations. */
const SNAPSHOT: string = '../upgrade/snapshot.js';
const { haveFunctionsChanged, writeSnapshot } = (await import(SNAPSHOT)) as {
  haveFunctionsChanged: (snapshot: string) => boolean;
  writeSnapshot: (version: string) => string;
};

const snapshot = writeSnapshot('9.9.9');

/** The tier upgrade is skipped while no function has changed. */
test.each([
  ['of the same functions, of any release', snapshot, false],
  ['with another body', snapshot.replace('RETURN;', 'RETURN NULL;'), true],
  ['without the last function', snapshot.slice(0, snapshot.lastIndexOf('CREATE')), true],
  ['that is empty', '', true],
])('a snapshot %s', (_sentence, text, changed) => {
  expect(haveFunctionsChanged(text)).toBe(changed);
});
