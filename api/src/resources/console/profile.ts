import { z } from 'zod';
import { idOut } from '@gwk/core/resources/common';
import { LANGUAGES, password, personName } from './session.js';

/** The signed-in person. */
export const ProfileUpdate = z.strictObject({
  name: personName().optional(),
  language: z.enum(LANGUAGES).optional(),
});

export const PasswordChange = z.strictObject({
  current: password()
    .nullable()
    .default(null)
    .meta({ description: 'Not needed if the person has no password yet.' }),
  password: password(),
});

export const ProfileSession = z.object({
  id: idOut('session'),
  is_current: z.boolean(),
  address: z.string(),
  user_agent: z.string(),
  created_at: z.iso.datetime(),
  last_seen_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
});

export const ProfileSessionList = z.object({ data: z.array(ProfileSession) });
