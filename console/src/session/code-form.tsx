import { Anchor, Button, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/problem';
import { ProblemAlert } from '../ui/problem-alert';
import { confirmCode, type Session } from './session-api';

export const isProblem = (error: Error | null, code: string): boolean =>
  error instanceof ApiError && error.code === code;

interface CodeFormProps {
  done: (session: Session) => void;
  /** Returns to e-mail and password. */
  back: () => void;
}

/** Asks for a code of the second factor, which completes the sign-in. */
export function CodeForm({ done, back }: CodeFormProps) {
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
        <Anchor component="button" type="button" size="sm" onClick={back}>
          {t('signIn.back')}
        </Anchor>
      </Stack>
    </form>
  );
}
