import { z } from 'zod';
import { email, password, token } from './console-session.js';

/** Forgotten passwords. */
export const SignInOptions = z.object({
  password_reset: z.boolean().meta({ description: 'The gateway e-mails links that set a new password.' }),
});

export const PasswordResetRequest = z.strictObject({ email: email() });

export const PasswordReset = z.strictObject({ token: token(), password: password() });
