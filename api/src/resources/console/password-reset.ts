import { z } from 'zod';
import { email, password, token } from './session.js';

/** Forgotten passwords. */
export const PasswordResetRequest = z.strictObject({ email: email() });

export const PasswordReset = z.strictObject({ token: token(), password: password() });
