import { ApiError } from '@gwk/client';
import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ConsoleError, type Factors } from '../api/problem';
import { ProblemAlert } from '../ui/problem-alert';
import { PasskeyButton } from './passkey-button';
import { canUsePasskeys, confirmPasskey } from './passkeys';
import { confirmCode, type Session } from './session-api';

export const isProblem = (error: Error | null, code: string): boolean =>
  error instanceof ApiError && error.code === code;

/** The second factors of the person, if the answer asks for one; else null. */
export const findFactors = (error: Error | null): Factors | null =>
  error instanceof ConsoleError && error.code === 'mfa-required' ? error.factors : null;

interface CodeFormProps {
  factors: Factors;
  done: (session: Session) => void;
  /** Returns to e-mail and password. */
  back: () => void;
}

/** Asks for the second factor, which completes the sign-in. */
export function CodeForm({ factors, done, back }: CodeFormProps) {
  const { t } = useTranslation();
  const hasPasskey = factors.includes('passkey');
  return (
    <Stack>
      {(factors.includes('totp') || !hasPasskey) && <TotpForm done={done} />}
      {hasPasskey && !canUsePasskeys() && <Text size="sm">{t('passkeys.otherHost')}</Text>}
      {hasPasskey && <PasskeyButton label={t('passkeys.use')} use={confirmPasskey} done={done} />}
      <Anchor component="button" type="button" size="sm" onClick={back}>
        {t('signIn.back')}
      </Anchor>
    </Stack>
  );
}

function TotpForm({ done }: Pick<CodeFormProps, 'done'>) {
  const { t } = useTranslation();
  const [code, setCode] = useState('');
  const attempt = useMutation({ mutationFn: () => confirmCode(code), onSuccess: done });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('signIn.code')}
          description={t('signIn.codeHelp')}
          autoComplete="one-time-code"
          required
          autoFocus
          maxLength={40}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <ProblemAlert error={attempt.error} />
        <Button type="submit" loading={attempt.isPending} fullWidth>
          {t('signIn.confirm')}
        </Button>
      </Stack>
    </form>
  );
}
