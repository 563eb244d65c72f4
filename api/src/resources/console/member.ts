import { z } from 'zod';
import { ROLES } from '../../roles.js';
import { idOut, idText } from '@gwk/core/resources/common';
import { email, emailOut, password, personName, token } from './session.js';

/** Members of an account, and invitations to it. */
const instances = () =>
  z.array(idText()).max(1_000).nullable().meta({
    description: 'Instances that the member may use; null: all that the person who gives them may use.',
  });

const role = () => z.enum(ROLES).meta({ examples: ['agent'] });

const instancesOut = () => z.array(idOut('instance')).nullable();

export const MemberOut = z.object({
  user_id: idOut('user'),
  email: emailOut(),
  name: z.string(),
  role: z.enum(ROLES),
  instance_ids: instancesOut(),
  has_totp: z.boolean(),
  has_passkey: z.boolean(),
  created_at: z.iso.datetime(),
});

export const MemberUpdate = z.strictObject({
  role: role().optional(),
  instance_ids: instances().optional(),
});

export const InvitationCreate = z.strictObject({
  email: email(),
  role: role(),
  instance_ids: instances().default(null),
});

export const InvitationOut = z.object({
  id: idOut('invitation'),
  email: emailOut(),
  role: z.enum(ROLES),
  instance_ids: instancesOut(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
});

export const CreatedInvitation = InvitationOut.extend({
  url: z.url().meta({
    description: 'Link for the person, shown this once.',
    examples: ['https://gwk.example.com/console/invitation#token=...'],
  }),
  emailed: z.boolean().nullable().meta({
    description:
      'Whether an e-mail with the link went to the person; false also if one went there within the last hour; null: no SMTP server is configured.',
  }),
});

export const InvitationAccept = z.strictObject({
  token: token(),
  name: personName().optional(),
  password: password().optional(),
});
