# zsh -f offers.zsh FOLDER NOTES LINE: what zsh offers at the end of LINE with the completion in FOLDER (the
# folder NOTES is for itself), one "OFFER word" per line.
# A real shell behind a pseudo terminal; compadd, by which completion functions offer a word, also writes it down.
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u; PS1=; compadd() { local -a hits; builtin compadd -A hits \"\$@\"; print -l -- 'OFFER '\$^hits >> $2/offers; builtin compadd \"\$@\" }; finish() { print >> $2/end; }; bindkey '^I' complete-word; zle -N finish; bindkey '^X' finish"
zpty -w z "echo rea''dy"
while zpty -r z line && [[ $line != *ready* ]]; do :; done
zpty -n -w z "$3"$'\t'$'\x18'
zpty -r -m z '*' line 2>/dev/null &
for ((i = 0; i < 500; i++)); do [[ -e $2/end ]] && break; sleep 0.02; done
cat $2/offers 2> /dev/null; [[ -e $2/end ]]; ended=$?
zpty -d z
exit $ended
