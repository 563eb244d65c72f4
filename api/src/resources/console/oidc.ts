import { z } from 'zod';
import { text } from '@gwk/core/resources/common';

/** Sign-in with a provider of OpenID Connect. */
export const SignInMethods = z.object({
  password: z.boolean(),
  passkey: z.boolean().meta({ description: 'A passkey signs in alone.' }),
  password_reset: z.boolean().meta({ description: 'The gateway e-mails links that set a new password.' }),
  provider: z.object({ name: z.string() }).nullable().meta({ description: 'OpenID Connect provider.' }),
});

export const ProviderSignIn = z.object({
  url: z.url().meta({ description: 'Page of the provider to open in this browser, within 10 minutes.' }),
});

export const ProviderAnswer = z.strictObject({
  query: text(1, 8_000).meta({
    description: 'Query of the address to which the provider has sent the browser.',
    examples: ['code=abc&state=def&iss=https%3A%2F%2Flogin.example.com'],
  }),
});
