import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectPromises, findBroken, writePromises } from './promises.ts';

const promises = collectPromises();

test('this version keeps the promises of the last release', () => {
  expect(findBroken(promises)).toEqual([]);
});

test('a lost operation, field, value and metric break promises', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-promises-'));
  try {
    writePromises(promises, folder);
    expect(findBroken(promises, folder)).toEqual([]);
    rmSync(join(folder, 'metrics.json'));
    expect(findBroken(promises, folder)).toEqual([expect.stringContaining('metrics.json: missing in')]);
    writePromises(promises, folder);
    const changed = JSON.parse(
      JSON.stringify(promises)
        .replace('"/v1/messages":', '"/v1/letters":')
        .replaceAll('"interactiveMode":', '"interactiveForm":')
        .replace('"gwk_decoder_up":', '"gwk_decoder_down":')
        .replace('"commonLabels":', '"labelsOfAll":'),
    ) as typeof promises;
    const broken = findBroken(changed, folder).filter((line) => line.endsWith(': removed'));
    for (const part of [
      '/paths//v1/messages',
      '/properties/interactiveMode',
      '/gwk_decoder_up',
      '/commonLabels',
    ])
      expect(broken).toContainEqual(expect.stringContaining(`${part}: removed`));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
