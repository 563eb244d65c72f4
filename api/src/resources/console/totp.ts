import { z } from 'zod';
import { text } from '@gwk/core/resources/common';

/** The second factor of a person: codes of an app (TOTP), or backup codes. */
export const CodeIn = z.strictObject({
  code: text(1, 40).meta({
    examples: ['123456'],
    description: 'Six digits of the app, or a backup code. Spaces and hyphens do not count.',
  }),
});

export const TotpSetup = z.object({
  secret: z.string().meta({ description: 'In base32.', examples: ['JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'] }),
  uri: z
    .string()
    .meta({ description: 'For a QR code.', examples: ['otpauth://totp/gwk:ana@example.com?secret=...'] }),
});

export const BackupCodes = z.object({
  backup_codes: z
    .array(z.string().meta({ examples: ['JBSW-Y3DP-EHPK-3PXP'] }))
    .meta({ description: 'Shown this once. Each replaces one code of the app.' }),
});
