import { DEFAULT_CONNECTION_CONFIG } from '@whiskeysockets/baileys';
import { BUNDLED } from '@gwk/core/client-version';

// An update of Baileys changes both the version and the day in core/src/client-version.ts.
test('the bundled client version is that of Baileys', () => {
  expect(DEFAULT_CONNECTION_CONFIG.version.join('.')).toBe(BUNDLED.version);
});
